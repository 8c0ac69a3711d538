/**
 * `fail`: the service does not work. `warn`: a function or safeguard is missing. `skip`: not checked, see the message.
 */
export type Finding = { name: string; status: 'ok' | 'skip' | 'warn' | 'fail'; message: string }

export const finding = (name: string, message: string, status: Finding['status'] = 'ok'): Finding => ({
  name,
  status,
  message,
})

export const skipped = (name: string, reason: string): Finding => finding(name, `not checked: ${reason}`, 'skip')
