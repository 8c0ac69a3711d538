import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { may } from '../../may.ts'
import { Button } from '../../parts/button.tsx'
import { Badge } from '../../parts/feedback/badge.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { endSession, type OtherSession, sessionsQuery } from '../../session.ts'
import { moment } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { useSession } from '../session-context.ts'
import css from './sessions-dialog.module.css'
import { SignInLinkForm } from './sign-in-link-form.tsx'

/** The sessions of the company, each of which can be ended, and links for new ones. */
export function SessionsDialog({ onClose }: { onClose: () => void }) {
  const session = useSession()
  const { data, error, refetch } = useQuery(sessionsQuery)
  return (
    <Dialog title={text.sessions.title} intro={text.sessions.intro} isOpen onClose={onClose} size="large">
      {may(session, 'signInLinks') && <SignInLinkForm />}
      {data === undefined ? (
        error ? (
          <Failure error={error} retry={refetch} />
        ) : (
          <Skeleton />
        )
      ) : (
        <ul className={css.list}>
          {data.data.map((session) => (
            <Row key={session.id} session={session} />
          ))}
        </ul>
      )}
    </Dialog>
  )
}

function Row({ session }: { session: OtherSession }) {
  const client = useQueryClient()
  const { mutate, isPending } = useMutation({
    mutationFn: () => endSession(session.id),
    onSettled: () => client.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  })
  return (
    <li className={css.row}>
      <div className={css.main}>
        <p className={css.name}>
          <bdi>{session.name}</bdi> <Badge>{text.roles[session.role].name}</Badge>
        </p>
        <p className={css.about} title={session.agent ?? ''}>
          <span>{browserOf(session.agent)}</span> · <span>{text.sessions.signedIn(moment(session.createdAt))}</span> ·{' '}
          <span>{text.sessions.seen(moment(session.seenAt))}</span>
        </p>
      </div>
      {session.isCurrent ? (
        <Badge tone="accent">{text.sessions.this}</Badge>
      ) : (
        <Button isBusy={isPending} onClick={() => mutate()} aria-label={`${text.sessions.end}: ${session.name}`}>
          {text.sessions.end}
        </Button>
      )}
    </li>
  )
}

/** The browser and system that a `User-Agent` names, where it is a common one. */
function browserOf(agent: string | null): string {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)/.exec(agent ?? '')?.[1]
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent ?? '')?.[1]
  return (
    [browser?.replace('Edg', 'Edge').replace('OPR', 'Opera'), system].filter(Boolean).join(', ') ||
    text.sessions.browser
  )
}
