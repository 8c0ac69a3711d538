// Preloaded into a process of the service: its clock is CLOCK_SKEW_MS off.
const skewMs = Number(process.env.CLOCK_SKEW_MS ?? 0)
const OwnDate = Date
globalThis.Date = class extends OwnDate {
  constructor(...args) {
    if (args.length === 0) super(OwnDate.now() + skewMs)
    else super(...args)
  }
  static now() {
    return OwnDate.now() + skewMs
  }
}
