import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '../client.ts'
import { Button } from '../parts/button.tsx'
import { faultText } from '../parts/failure-text.ts'
import { TextField } from '../parts/field.tsx'
import { Logo } from '../parts/logo.tsx'
import { sessionQuery, signIn } from '../session.ts'
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
  const { fault, isBusy, isLink, submit } = useSignIn(code, onDone)
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
            <p className={css.intro}>{hasEnded ? text.signIn.ended : text.signIn.intro}</p>
            <TokenForm fault={fault} isBusy={isBusy} onSubmit={submit} />
          </>
        )}
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

/** Signs in at once with the code of a link, otherwise with the token that `submit` is given. */
function useSignIn(code: string | null, onDone: () => void) {
  const queryClient = useQueryClient()
  const [fault, setFault] = useState<string>()
  const [isBusy, setBusy] = useState(code !== null)
  const [isLink, setLink] = useState(code !== null)

  const enter = async (given: string, refused: string) => {
    setBusy(true)
    setFault(undefined)
    try {
      queryClient.setQueryData(sessionQuery.queryKey, await signIn(given))
      onDone()
    } catch (error) {
      setBusy(false)
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
    // A link works once: the effect must not run a second time.
    if (code === null || started.current) return
    started.current = true
    void enter(code, text.signIn.usedLink)
  })

  return { fault, isBusy, isLink, submit }
}
