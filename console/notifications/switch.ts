import { areNotificationsOn, STORED } from './setting.ts'

/** Turns notifications on or off; turning them on asks the browser's permission. Returns whether they are on. */
export async function setNotifications(isOn: boolean): Promise<boolean> {
  if (isOn && (await Notification.requestPermission()) === 'granted') localStorage.setItem(STORED, 'on')
  else localStorage.removeItem(STORED)
  return areNotificationsOn()
}
