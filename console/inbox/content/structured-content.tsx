import type { StructuredContent as Content, Message } from '../../../client/src/generated/schemas.ts'
import { CallCard } from './call-card.tsx'
import { ContactCards } from './contact-cards.tsx'
import { at, distinct, listOf, textAt } from './json-content.ts'
import { LocationCard } from './location-card.tsx'
import { OrderCard } from './order-card.tsx'
import css from './structured-content.module.css'

/** The content of a message in addition to text and media: a card, or the footer and the buttons of a question. All of it is plain text. */
export function StructuredContent({ message }: { message: Message }) {
  const { location, contacts, order, call, reply, content } = message
  if (location !== null) return <LocationCard location={location} />
  if (contacts !== null) return <ContactCards contacts={contacts} />
  if (order !== null) return <OrderCard order={order} />
  if (call !== null) return <CallCard call={call} />
  if (reply !== null) return <ChosenRow reply={reply} />
  return content?.type === 'interactive' ? <Question interactive={content.interactive} /> : null
}

/** What the title of an answer does not say. */
function ChosenRow({ reply: { description } }: { reply: NonNullable<Message['reply']> }) {
  if (description === null) return null
  return (
    <p className={css.note} dir="auto">
      {description}
    </p>
  )
}

function Question({ interactive }: { interactive: Content['interactive'] }) {
  const footer = textAt(at(interactive, 'footer'), 'text')
  const options = optionsOf(at(interactive, 'action'))
  return (
    <>
      {footer !== undefined && (
        <p className={css.note} dir="auto">
          {footer}
        </p>
      )}
      {options.length > 0 && (
        <ul className={css.options}>
          {options.map((option) => (
            <li dir="auto" key={option}>
              {option}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** The titles of reply buttons, the label and the rows of a list, or the label of a button that opens something. */
function optionsOf(action: unknown): string[] {
  const titles = [
    ...listOf(at(action, 'buttons')).map((button) => textAt(at(button, 'reply'), 'title')),
    textAt(action, 'button'),
    ...listOf(at(action, 'sections')).flatMap((section) =>
      listOf(at(section, 'rows')).map((row) => textAt(row, 'title')),
    ),
    textAt(at(action, 'parameters'), 'display_text') ?? textAt(at(action, 'parameters'), 'flow_cta'),
  ]
  return distinct(titles)
}
