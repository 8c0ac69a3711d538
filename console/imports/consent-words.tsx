import { useMemo, useState } from 'react'
import {
  CONSENT_WORD_MAX_LENGTH,
  CONSENT_WORDS_MAX,
  type ConsentWords,
  contradictingWord,
  createConsentReader,
  splitWords,
} from '../../src/platform/text/lists/consent-columns.ts'
import { findProfile, profileWords } from '../../src/platform/text/lists/list-profiles.ts'
import { TextField } from '../parts/forms/field.tsx'
import { importText } from '../texts/imports.ts'
import css from './imports.module.css'

const MAX_LENGTH = CONSENT_WORDS_MAX * CONSENT_WORD_MAX_LENGTH

/** Combines the user's consent words for a list with those of the exporting program. */
export function useConsentWords(columns: readonly string[]) {
  const [texts, setTexts] = useState({ yes: '', no: '' })
  return useMemo(() => {
    const own = profileWords(findProfile(columns) ?? null)
    const words: ConsentWords = {
      yes: [...own.yes, ...splitWords(texts.yes)].slice(0, CONSENT_WORDS_MAX),
      no: [...own.no, ...splitWords(texts.no)].slice(0, CONSENT_WORDS_MAX),
    }
    const twice = contradictingWord(words)
    return {
      ...{ texts, setTexts, words, readWord: createConsentReader(words) },
      fault: twice === undefined ? undefined : importText.contradiction(twice),
    }
  }, [columns, texts])
}

type Props = Pick<ReturnType<typeof useConsentWords>, 'texts' | 'setTexts'>

/** Translations of yes and no, for lists with a column of consent. */
export function ConsentWordFields({ texts, setTexts }: Props) {
  return (
    <div className={css.consent}>
      {(['yes', 'no'] as const).map((kind) => (
        <TextField
          key={kind}
          label={kind === 'yes' ? importText.consentYes : importText.consentNo}
          placeholder={kind === 'yes' ? importText.yesExample : importText.noExample}
          maxLength={MAX_LENGTH}
          value={texts[kind]}
          onChange={({ target }) => setTexts({ ...texts, [kind]: target.value })}
        />
      ))}
    </div>
  )
}
