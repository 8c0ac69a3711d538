import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { SCOPE } from '../scope.ts'
import { viewLock } from './setting.ts'

/** While this tab is visible and shows a conversation, it holds a lock that tells the other tabs so. */
export function useConversationInView(): void {
  const { chatId } = useParams({ strict: false })
  useEffect(() => {
    if (chatId === undefined) return
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
        void navigator.locks.request(viewLock(SCOPE, Number(chatId)), { mode: 'shared' }, () => held)
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
