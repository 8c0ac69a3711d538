import { type ReactNode, useEffect, useRef } from 'react'
import { Empty } from '../parts/empty.tsx'
import { hasRole, type Role } from '../session.ts'
import { text } from '../texts/text.ts'
import css from './screen.module.css'
import { hasCompany } from './screens.ts'
import { useSession } from './session-context.ts'
import { nameWindow } from './window-title.ts'

type Props = { title: string; permission?: string | readonly string[]; neededRole?: Role; children: ReactNode }

/**
 * A screen: it names the window, takes the focus at its heading after a navigation, and names the permission (one of
 * several) or the role that a session lacks.
 */
export function Screen({ title, permission, neededRole, children }: Props) {
  const session = useSession()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    nameWindow(title)
    heading.current?.focus()
  }, [title])
  const needsCompany = permission !== undefined && !hasCompany(session)
  const anyOf = permission === undefined ? [] : [permission].flat()
  const isRefused =
    anyOf.length > 0 && session.kind === 'company' && !anyOf.some((one) => session.permissions.includes(one))
  return (
    <>
      <h1 ref={heading} tabIndex={-1} className={css.heading}>
        {title}
      </h1>
      {needsCompany ? (
        <Empty icon="companies" title={text.acting.noCompany} text={text.acting.noCompanyText} />
      ) : isRefused ? (
        <Empty icon="lock" title={text.failure.forbiddenTitle} text={text.failure.forbidden(anyOf.join(' or '))} />
      ) : neededRole !== undefined && !hasRole(session, neededRole) ? (
        <Empty
          icon="lock"
          title={text.failure.forbiddenTitle}
          text={text.failure.forbiddenRole(text.roles[neededRole].name)}
        />
      ) : (
        children
      )}
    </>
  )
}
