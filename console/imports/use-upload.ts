import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { ConsentWords } from '../../src/platform/text/lists/consent-columns.ts'
import { api } from '../client.ts'
import { type ListHead, toUpload } from './list-file.ts'

type List = { file: File; head: ListHead; targets: readonly (string | null)[]; words: ConsentWords }

/** Sends the list once, however often it is pressed: a lost answer is asked for again with the same key. */
export function useUpload({ file, head, targets, words }: List, onStarted: () => void) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [keys] = useState(() => new Map<string, string>())
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const { data, encoding } = await toUpload(file, head, targets)
      const params = head.format === 'csv' ? { delimiter: head.delimiter, encoding, ...named(words) } : {}
      const request = JSON.stringify([targets, params])
      const idempotencyKey = keys.get(request) ?? crypto.randomUUID()
      keys.set(request, idempotencyKey)
      const contentType = head.format === 'csv' ? 'text/csv' : 'application/x-ndjson'
      return (await api.importContacts({ contentType, data }, params, { idempotencyKey })).data
    },
    onSuccess: async ({ id }) => {
      void client.invalidateQueries({ queryKey: ['imports'] })
      await navigate({ to: '/imports/{-$id}', params: { id: String(id) } })
      onStarted()
    },
  })
  return { send: () => mutate(), isSending: isPending, error }
}

const named = ({ yes, no }: ConsentWords) => ({
  ...(yes.length > 0 && { consentYes: yes.join(',') }),
  ...(no.length > 0 && { consentNo: no.join(',') }),
})
