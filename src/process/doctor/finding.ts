/**
 * `fail`: the service does not work with it. `warn`: the service works, but a function or a safeguard is missing. `skip`: not
 * checked, for the reason in the message.
 */
export type Finding = { name: string; status: 'ok' | 'skip' | 'warn' | 'fail'; message: string }

/** One line of the doctor's report; only `fail` makes its exit code 1. */
export const finding = (name: string, message: string, status: Finding['status'] = 'ok'): Finding => ({
  name,
  status,
  message,
})

/** The line of a check that is not made. */
export const skipped = (name: string, reason: string): Finding => finding(name, `not checked: ${reason}`, 'skip')
