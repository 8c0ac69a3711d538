import { useQuery } from '@tanstack/react-query'
import { Failure } from '../../parts/feedback/failure.tsx'
import { Skeleton } from '../../parts/lists/skeleton.tsx'
import { Dialog } from '../../parts/popups/dialog.tsx'
import { keysQuery } from '../../session.ts'
import { dateAndTime } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import css from './sessions-dialog.module.css'

/** The names and permissions of the company's API keys. */
export function ApiKeysDialog({ onClose }: { onClose: () => void }) {
  const { data, error, refetch } = useQuery(keysQuery)
  return (
    <Dialog title={text.apiKeys.title} intro={text.apiKeys.intro} isOpen onClose={onClose} size="large">
      {data === undefined ? (
        error ? (
          <Failure error={error} retry={refetch} />
        ) : (
          <Skeleton />
        )
      ) : data.data.length === 0 ? (
        <p>{text.apiKeys.none}</p>
      ) : (
        <ul className={css.list}>
          {data.data.map(({ name, permissions, expiresAt }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: names are not unique, and the list does not change in place
            <li key={index} className={css.row}>
              <div className={css.main}>
                <p className={css.name}>
                  <bdi>{name}</bdi>
                </p>
                <p className={css.about}>
                  <span>{permissions.join(', ')}</span>
                  {expiresAt !== null && <span> · {text.apiKeys.expires(dateAndTime(expiresAt))}</span>}
                </p>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}
