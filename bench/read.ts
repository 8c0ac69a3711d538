import type { Bench } from './bench.ts'
export const readBench: Bench = async () => {}
