/** How much a run does, whatever its faults are. */
export type LoadPlan = {
  seed: number
  /** How many api processes run, and how many workers. Every second one is a supervisor with two processes. */
  processesOfRole: number
  /** Messages of customers; repeated and poisoned bodies come on top. */
  inbound: number
  sends: number
  /** Sends that ask for a time of the next seconds. */
  scheduled: number
  mails: number
  /** The longest time without an answered read that a promotion may cost. */
  longestGapMs: number
  /** The control arm: the provider is answered before the service has the event. It must lose some. */
  answersEarly: boolean
}

/** How often each fault is made. */
export type Plan = LoadPlan & {
  kills: number
  terminations: number
  databaseRestarts: number
  promotions: number
  rollingRestarts: number
  /** How often the disk of the database is full for some seconds. */
  fullDisks: number
  /** How often the files of tables fail with an input/output error for some seconds. */
  brokenFiles: number
  clockSteps: number
  /** How often the database is killed, and twice more while it recovers. */
  recoveryCrashes: number
  /** How often connections to the provider open after the deadline of their requests. */
  slowHandshakes: number
  /** How often all processes are frozen while they connect to the provider. */
  pauses: number
}

export const FULL: Omit<Plan, 'seed'> = {
  processesOfRole: 2,
  kills: 100,
  terminations: 20,
  databaseRestarts: 5,
  promotions: 3,
  rollingRestarts: 10,
  fullDisks: 3,
  brokenFiles: 5,
  clockSteps: 4,
  recoveryCrashes: 3,
  slowHandshakes: 5,
  pauses: 5,
  inbound: 50_000,
  sends: 5_000,
  scheduled: 2_000,
  mails: 2_000,
  longestGapMs: 6_000,
  answersEarly: false,
}

/** Each kind of fault once, in both forms where it has two. */
export const QUICK: Omit<Plan, 'seed'> = {
  processesOfRole: 2,
  kills: 2,
  terminations: 1,
  databaseRestarts: 2,
  promotions: 2,
  rollingRestarts: 1,
  fullDisks: 1,
  brokenFiles: 1,
  // waits until nothing is left to do, which takes as long as the rest
  clockSteps: 0,
  recoveryCrashes: 1,
  slowHandshakes: 1,
  pauses: 1,
  inbound: 400,
  sends: 60,
  scheduled: 60,
  mails: 30,
  // a short run says how long; the machine of a test may be slow
  longestGapMs: Number.POSITIVE_INFINITY,
  answersEarly: false,
}

/** One killed api process is enough to show that the counters see what the control arm loses. */
export const CONTROL: Omit<Plan, 'seed'> = {
  processesOfRole: 1,
  kills: 1,
  terminations: 0,
  databaseRestarts: 0,
  promotions: 0,
  rollingRestarts: 0,
  fullDisks: 0,
  brokenFiles: 0,
  clockSteps: 0,
  recoveryCrashes: 0,
  slowHandshakes: 0,
  pauses: 0,
  inbound: 300,
  sends: 0,
  scheduled: 0,
  mails: 0,
  longestGapMs: Number.POSITIVE_INFINITY,
  answersEarly: true,
}
