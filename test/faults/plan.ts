/** How much of everything a run does. */
export type Plan = {
  seed: number
  kills: number
  terminations: number
  databaseRestarts: number
  promotions: number
  rollingRestarts: number
  /** Messages of customers; repeated and poisoned bodies come on top. */
  inbound: number
  sends: number
  mails: number
  /** The control arm: the provider is answered before the service has the event. It must lose some. */
  answersEarly: boolean
}

export const FULL: Omit<Plan, 'seed'> = {
  kills: 100,
  terminations: 20,
  databaseRestarts: 5,
  promotions: 3,
  rollingRestarts: 10,
  inbound: 50_000,
  sends: 5_000,
  mails: 2_000,
  answersEarly: false,
}

export const QUICK: Omit<Plan, 'seed'> = {
  kills: 3,
  terminations: 2,
  databaseRestarts: 1,
  promotions: 1,
  rollingRestarts: 1,
  inbound: 600,
  sends: 60,
  mails: 30,
  answersEarly: false,
}

/** Enough to show that the counters see what the control arm loses. */
export const CONTROL: Omit<Plan, 'seed'> = {
  ...QUICK,
  terminations: 0,
  promotions: 0,
  rollingRestarts: 0,
  inbound: 400,
  sends: 0,
  mails: 0,
  answersEarly: true,
}
