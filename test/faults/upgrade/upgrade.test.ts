import { expect, test } from 'vitest'
import { total } from '../counters.ts'
import { buildPreviousRelease } from './previous-release.ts'
import { UPGRADE_QUICK, upgradeUnderLoad } from './upgrade.ts'

const TIMEOUT = 900_000
const quiet = () => {}

test(
  'processes of the previous release are upgraded under load: nothing is lost, and each answer is as usual or 503 with Retry-After',
  async (context) => {
    const previous = await buildPreviousRelease()
    if (typeof previous === 'string') return context.skip(previous)
    const { counts, errors, strange, migrations } = await upgradeUnderLoad(
      { ...UPGRADE_QUICK, seed: 16 },
      previous,
      quiet,
    )
    expect(strange, errors.join('\n')).toEqual([])
    expect(total(counts), JSON.stringify({ counts, errors })).toBe(0)
    expect(migrations).toBeGreaterThan(0)
  },
  TIMEOUT,
)
