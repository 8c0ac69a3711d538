import { expect } from 'vitest'
import { startProvider } from '../../../test/providers/provider-stand-in.ts'
import { describeProvider } from '../provider-suite.ts'

const ids = { wamid: expect.stringMatching(/^wamid\./), providerMessageId: null }

describeProvider('meta', () => startProvider('meta', '', 'token', ids))
