import type { StructuredContent as Content } from '../../client/src/generated/schemas.ts'
import css from './structured-content.module.css'

type Details = {
  /** Each card by itself, its name first. */
  cards?: string[][]
  note?: string | undefined
  /** What the customer may choose or open. */
  options?: string[]
}

/** What a message has below its text: an address, contact cards, a footer and its buttons. All of it is plain text. */
export function StructuredContent({ content }: { content: Content }) {
  const { cards = [], note, options = [] } = detailsOf(content)
  return (
    <>
      {cards.map((lines) => (
        <div className={css.card} dir="auto" key={lines.join()}>
          {lines.map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      ))}
      {note !== undefined && (
        <p className={css.note} dir="auto">
          {note}
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

function detailsOf({ type, ...content }: Content): Details {
  if (type === 'contacts') return { cards: listOf(content.contacts).map(linesOf) }
  if (type === 'location') {
    const place = content.location
    const coordinates = [at(place, 'latitude'), at(place, 'longitude')].filter((one) => typeof one === 'number')
    return { note: [textAt(place, 'address'), coordinates.join(', ')].filter((one) => one).join(' · ') }
  }
  if (type !== 'interactive') return {}
  const { interactive } = content
  return { note: textAt(at(interactive, 'footer'), 'text'), options: optionsOf(at(interactive, 'action')) }
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

const linesOf = (card: unknown): string[] =>
  distinct([
    textAt(at(card, 'name'), 'formatted_name'),
    ...listOf(at(card, 'phones')).map((one) => textAt(one, 'phone')),
    ...listOf(at(card, 'emails')).map((one) => textAt(one, 'email')),
  ])

const distinct = (texts: readonly (string | undefined)[]): string[] => [
  ...new Set(texts.filter((text) => text !== undefined)),
]

const at = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

function textAt(value: unknown, name: string): string | undefined {
  const text = at(value, name)
  return typeof text === 'string' && text !== '' ? text : undefined
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
