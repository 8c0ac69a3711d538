import type { Bench } from './bench.ts'
export const inboundBench: Bench = async () => {}
