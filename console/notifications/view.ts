import { useEffect } from 'react'
import { SCOPE } from '../scope.ts'

/** The name of the lock that a visible tab holds while it shows a conversation. */
export const viewLock = (scope: string, chatId: number): string => `parley.view.${scope}.${chatId}`

/** While this tab is visible, a conversation that it shows holds a lock that other tabs look for. */
export function useInView(chatId: number): void {
  useEffect(() => {
    let release: (() => void) | undefined
    const follow = () => {
      const isVisible = document.visibilityState === 'visible'
      if (!isVisible) {
        release?.()
        release = undefined
      } else if (release === undefined) {
        const held = new Promise<void>((resolve) => {
          release = resolve
        })
        void navigator.locks.request(viewLock(SCOPE, chatId), { mode: 'shared' }, () => held)
      }
    }
    follow()
    document.addEventListener('visibilitychange', follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      release?.()
    }
  }, [chatId])
}
