import { text as texts } from '../../texts/text.ts'
import css from './rich-text.module.css'
import { type Part, partsOf } from './rich-text-parts.ts'

/** A text with its addresses as links, and bold, italic, struck and code as WhatsApp shows them. */
export const RichText = ({ text }: { text: string }) => <Parts parts={partsOf(text)} />

function Parts({ parts }: { parts: readonly Part[] }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
  return parts.map((part, place) => <One key={place} part={part} />)
}

function One({ part }: { part: Part }) {
  switch (part.kind) {
    case 'text':
      return part.text
    case 'code':
      return <code className={css.code}>{part.text}</code>
    case 'block':
      return (
        <pre className={css.block}>
          <code>{part.text}</code>
        </pre>
      )
    case 'link':
      return (
        <a
          className={css.link}
          href={part.href}
          target="_blank"
          rel="noreferrer"
          title={texts.conversation.opensWindow}
        >
          {part.text}
        </a>
      )
    case 'bold':
      return (
        <strong className={css.bold}>
          <Parts parts={part.parts} />
        </strong>
      )
    case 'italic':
      return (
        <em>
          <Parts parts={part.parts} />
        </em>
      )
    case 'struck':
      return (
        <s>
          <Parts parts={part.parts} />
        </s>
      )
  }
}
