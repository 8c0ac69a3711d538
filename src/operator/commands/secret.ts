import type { Command } from 'commander'
import { checkSecrets } from '../../secrets/check-secrets.ts'
import { resealSecrets } from '../../secrets/secret-store.ts'
import { commandGroup, type OpenOperator } from './command.ts'

/** `parley secrets …` */
export function secretCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'secrets', 'stored secrets: reseal', open)

  add('reseal', 'encrypt all of them with the first key of ENCRYPTION_KEY').action(
    (_options: object, command: Command) =>
      run(command, async ({ db, cipher }) => {
        await checkSecrets(db, cipher)
        return { resealed: await resealSecrets(db, cipher) }
      }),
  )
}
