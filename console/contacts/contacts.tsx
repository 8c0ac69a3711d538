import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useKeys } from '../keys.ts'
import { may } from '../may.ts'
import { focusRow } from '../parts/lists/focus-row.ts'
import pane from '../parts/pane.module.css'
import { Screen } from '../shell/screen.tsx'
import { useSession } from '../shell/session-context.ts'
import { contactText } from '../texts/contacts.ts'
import css from './contacts.module.css'
import { ContactFilters } from './list/contact-filters.tsx'
import { ContactList } from './list/contact-list.tsx'
import { ContactPane } from './pane/contact-pane.tsx'

/** The contacts of the company, or the one that is open. */
export function Contacts() {
  const { id } = useParams({ from: '/contacts/{-$id}' })
  const session = useSession()
  const search = useSearch({ from: '/contacts/{-$id}' })
  useKeys({ j: () => focusRow('[data-contact]', 1), k: () => focusRow('[data-contact]', -1) })
  return (
    <Screen title={contactText.title} part="contacts">
      {id !== undefined ? (
        <ContactPane key={id} id={Number(id)} />
      ) : (
        <section className={pane.pane} aria-label={contactText.list}>
          <header className={pane.head}>
            <h2 className={pane.title}>{contactText.title}</h2>
            <div className={css.links}>
              {may(session, 'customFields') && (
                <Link to="/custom-fields" className={css.link ?? ''}>
                  {contactText.customFields}
                </Link>
              )}
              <Link to="/imports/{-$id}" params={{ id: undefined }} className={css.link ?? ''}>
                {contactText.imports}
              </Link>
            </div>
          </header>
          <ContactFilters search={search} />
          <ContactList search={search} />
        </section>
      )}
    </Screen>
  )
}
