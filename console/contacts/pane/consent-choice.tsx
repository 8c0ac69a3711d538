import type { Contact } from '../../../client/src/generated/schemas.ts'
import { Select } from '../../parts/forms/select.tsx'
import { contactText } from '../../texts/contacts.ts'
import { text } from '../../texts/text.ts'
import { useContactChange } from '../use-contact-change.ts'
import css from './section.module.css'

const YES_OR_NO = [
  { value: 'yes', label: text.contact.yes },
  { value: 'no', label: text.contact.no },
] as const

/** The consent that counts on a channel, and a choice that changes it. Nothing makes consent unknown again. */
export function ConsentChoice({ contact, channel }: { contact: Contact; channel: 'whatsapp' | 'email' }) {
  const value = contact.marketing_consent[channel]
  const { change, isBusy, fault } = useContactChange(contact, () => {})
  const choices = value === null ? [{ value: '', label: text.contact.notKnown } as const, ...YES_OR_NO] : YES_OR_NO
  const choose = (chosen: '' | 'yes' | 'no') => {
    if (chosen !== '' && !isBusy) change({ marketingConsent: { [channel]: chosen === 'yes' } })
  }
  return (
    <div className={css.fact}>
      <dt>{contactText.channels[channel]}</dt>
      <dd>
        <Select
          label={contactText.consentSection.change(contactText.channels[channel])}
          value={value === null ? '' : value ? 'yes' : 'no'}
          choices={choices}
          onChange={choose}
        />
        {fault && (
          <p role="alert" className={css.fault}>
            {fault}
          </p>
        )}
      </dd>
    </div>
  )
}
