import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError, hasSeveralCookies } from '../client.ts'
import { forgetDrafts } from '../inbox/composer/draft.ts'
import { forgetAttached } from '../inbox/composer/files/attached.ts'
import { Button } from '../parts/button.tsx'
import { faultText } from '../parts/feedback/failure-text.ts'
import { TextField } from '../parts/forms/field.tsx'
import { Logo } from '../parts/logo.tsx'
import { type Replacement, sessionQuery, signIn } from '../session.ts'
import { text } from '../texts/text.ts'
import css from './sign-in.module.css'

type Props = {
  /** The code of a one-time link, already removed from the address. */
  code: string | null
  hasEnded: boolean
  onDone: () => void
}

/** Signs in with a key, the operator's token, or the code of a one-time link. */
export function SignIn({ code, hasEnded, onDone }: Props) {
  const { fault, isBusy, isLink, question, submit, replace } = useSignIn(code, onDone)
  if (question !== undefined) return <Question question={question} isBusy={isBusy} onStay={onDone} onSwitch={replace} />
  return (
    <main className={css.page}>
      <div className={css.card}>
        <Logo size={36} />
        <h1 className={css.title}>{isLink ? text.signIn.withLink : text.signIn.title}</h1>
        {isLink ? (
          <p className={css.intro} role="status">
            {text.loading} …
          </p>
        ) : (
          <>
            <p className={css.intro}>{introOf(hasEnded)}</p>
            <TokenForm fault={fault} isBusy={isBusy} onSubmit={submit} />
          </>
        )}
      </div>
    </main>
  )
}

function introOf(hasEnded: boolean): string {
  if (hasSeveralCookies()) return text.signIn.severalCookies
  return hasEnded ? text.signIn.ended : text.signIn.intro
}

type QuestionProps = { question: Replacement; isBusy: boolean; onStay: () => void; onSwitch: () => void }

/** Asks whether a link may replace the session, and names both: its author may be an attacker. */
function Question({ question: { current, offered }, isBusy, onStay, onSwitch }: QuestionProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  const placeOf = ({ company }: Replacement['current']) => company?.name ?? text.signIn.operator
  const identityOf = (one: Replacement['current']) =>
    one.company === null ? text.signIn.operator : text.signIn.identity(one.name, one.company.name)
  return (
    <main className={css.page}>
      <div className={css.card}>
        <Logo size={36} />
        <h1 ref={heading} tabIndex={-1} className={css.title}>
          {text.signIn.replaceTitle}
        </h1>
        <p className={css.intro}>{text.signIn.replace(identityOf(current), identityOf(offered))}</p>
        <div className={css.choices}>
          <Button look="primary" onClick={onStay}>
            {text.signIn.stay(placeOf(current))}
          </Button>
          <Button isBusy={isBusy} onClick={onSwitch}>
            {text.signIn.switch(placeOf(offered))}
          </Button>
        </div>
      </div>
    </main>
  )
}

type FormProps = { fault: string | undefined; isBusy: boolean; onSubmit: (token: string) => void }

function TokenForm({ fault, isBusy, onSubmit }: FormProps) {
  const [token, setToken] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isBusy) return
    onSubmit(token.trim())
    field.current?.focus()
  }
  return (
    <form onSubmit={submit} className={css.form} noValidate>
      <TextField
        ref={field}
        label={text.signIn.token}
        hint={text.signIn.hint}
        fault={fault}
        type="password"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <Button type="submit" look="primary" isBusy={isBusy}>
        {text.signIn.submit}
      </Button>
    </form>
  )
}

/** Signs in at once with the code of a link, otherwise with the token of `submit`. */
function useSignIn(code: string | null, onDone: () => void) {
  const queryClient = useQueryClient()
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(code !== null)
  const [isLink, setLink] = useState(code !== null)
  const [question, ask] = useState<Replacement>()

  const enter = async (token: string, refused: string, mayReplace = false) => {
    setBusy(true)
    setFault(undefined)
    try {
      const result = await signIn(token, mayReplace)
      if ('offered' in result) {
        setBusy(false)
        return ask(result)
      }
      if (mayReplace) {
        forgetDrafts()
        await forgetAttached()
      }
      queryClient.setQueryData(sessionQuery.queryKey, result)
      onDone()
    } catch (error) {
      setBusy(false)
      ask(undefined)
      setLink(false)
      setFault(error instanceof ApiError && error.status === 401 ? refused : faultText(error))
    }
  }
  const submit = (token: string) => {
    if (token === '') setFault(text.signIn.empty)
    else void enter(token, text.signIn.refused)
  }

  const started = useRef(false)
  useEffect(() => {
    // A link works once: the effect must not run twice.
    if (code === null || started.current) return
    started.current = true
    void enter(code, text.signIn.usedLink)
  })

  const replace = () => {
    if (code !== null) void enter(code, text.signIn.usedLink, true)
  }

  return { fault, isBusy, isLink, question, submit, replace }
}
