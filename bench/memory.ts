import { type Figure, figure } from './figure.ts'
import { residentMegabytes } from './process.ts'

/** The highest memory of the service so far, in use by a load. */
export const memoryFigure = (pid: number): Figure =>
  figure('resident memory at its highest', residentMegabytes(pid).highest, 'MB', {
    atMost: 200,
    limitedBy:
      'An idle service takes 178 MB: 62 MB of objects, 24 of them source texts of modules, 32 MB for new objects, and the program itself; under load come connections and what the allocator keeps.',
  })
