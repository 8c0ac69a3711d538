import { createTaskThread } from '../../fair/threads/task-thread.ts'
import { programFile } from '../../platform/program-file.ts'
import type { EncodeTasks } from './encode-program.ts'
import type { MailMessage } from './mail-message.ts'

const run = createTaskThread<EncodeTasks>({
  program: programFile('src/mailers/smtp/encode-program.ts'),
  limitsMs: { encode: 3_000 },
  memory: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
})

/** Encodes a long mail in a thread. Like an error there, a limit that is reached is a fault of the program: mails have a bound. */
export async function encodeInThread(companyId: number, message: MailMessage): Promise<Buffer> {
  const bytes = await run(companyId, 'encode', message)
  if (bytes === 'too-slow') throw new Error('Encoding a mail took longer than its limit')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
