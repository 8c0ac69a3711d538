import { useNavigate } from '@tanstack/react-router'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/feedback/empty.tsx'
import { text } from '../texts/text.ts'
import css from './crash.module.css'
import { Screen } from './screen.tsx'

/** The last resort: an error that no part of the page expected. */
export function Crash() {
  return (
    <main className={css.alone}>
      <Empty icon="alert" title={text.failure.unexpected} text={text.failure.unexpectedText}>
        <Button look="primary" onClick={() => location.reload()}>
          {text.failure.reload}
        </Button>
      </Empty>
    </main>
  )
}

/** Nothing is at the address. */
export function Missing() {
  const navigate = useNavigate()
  return (
    <Screen title={text.failure.notFound}>
      <Empty icon="unknown" title={text.failure.notFound} text={text.failure.pageText}>
        <Button onClick={() => navigate({ to: '/' })}>{text.failure.home}</Button>
      </Empty>
    </Screen>
  )
}
