import { type ReactNode, useEffect, useRef } from 'react'
import { type Lack, lackOf, type Part } from '../may.ts'
import { Empty } from '../parts/feedback/empty.tsx'
import { text } from '../texts/text.ts'
import css from './screen.module.css'
import { useSession } from './session-context.ts'
import { nameWindow } from './window-title.ts'

/** `part`: the part of the console that it shows. */
type Props = { title: string; part?: Part; children: ReactNode }

/**
 * A screen: it names the window, takes the focus at its heading after a navigation, and says what a session lacks that may
 * not see it.
 */
export function Screen({ title, part, children }: Props) {
  const session = useSession()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    nameWindow(title)
    heading.current?.focus()
  }, [title])
  const lack = part && lackOf(session, part)
  return (
    <>
      <h1 ref={heading} tabIndex={-1} className={css.heading}>
        {title}
      </h1>
      {lack ? <Refused lack={lack} /> : children}
    </>
  )
}

function Refused({ lack }: { lack: Lack }) {
  if ('company' in lack) {
    return <Empty icon="companies" title={text.acting.noCompany} text={text.acting.noCompanyText} />
  }
  return <Empty icon="lock" title={text.failure.forbiddenTitle} text={reasonOf(lack)} />
}

function reasonOf(lack: Exclude<Lack, { company: true }>): string {
  if ('operator' in lack) return text.failure.operatorOnly
  return 'role' in lack ? text.failure.forbiddenRole(lack.role) : text.failure.forbidden(lack.permissions.join(' or '))
}
