const STORED = 'parley.notifications'

/** Whether this browser can show notifications outside of the page; on a phone only installed programs can. */
export const canNotify = (): boolean => 'Notification' in globalThis

/** Whether the user turned notifications on and the browser allows them. */
export const areNotificationsOn = (): boolean =>
  canNotify() && Notification.permission === 'granted' && localStorage.getItem(STORED) === 'on'

/** Turns notifications on or off; turning them on asks the browser's permission. Returns whether they are on. */
export async function setNotifications(isOn: boolean): Promise<boolean> {
  if (isOn && (await Notification.requestPermission()) === 'granted') localStorage.setItem(STORED, 'on')
  else localStorage.removeItem(STORED)
  return areNotificationsOn()
}

/** The name of the lock that a visible tab holds while it shows a conversation. */
export const viewLock = (scope: string, chatId: number): string => `parley.view.${scope}.${chatId}`
