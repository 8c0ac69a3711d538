export const STORED = 'parley.notifications'

/** Whether the user turned notifications on and the browser allows them. On a phone only installed programs can show them. */
export const areNotificationsOn = (): boolean =>
  'Notification' in globalThis && Notification.permission === 'granted' && localStorage.getItem(STORED) === 'on'
