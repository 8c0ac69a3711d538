import type { Command } from 'commander'
import { commandGroup, type OpenOperator } from './command.ts'

/** `parley media …` */
export function mediaCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'media', 'files of messages, uploads and lists: copy', open)

  add('copy', 'copy all files to another place while the service runs; can be run again')
    .option('--to <url>', 'a bucket, https://HOST/BUCKET, or a folder, file:///PATH; by default the place that is set')
    .action(({ to }: { to?: string }, command: Command) => run(command, async ({ copyMedia }) => await copyMedia(to)))
}
