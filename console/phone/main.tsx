import '../styles/base.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { CustomerPhone } from './customer-phone.tsx'
import { ReceiverView } from './receiver-view.tsx'

/** A page of the sandbox: `#receiver` shows what the demo's receiver got, else the customer's phone. */
const isReceiver = location.hash === '#receiver'

const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root')
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>{isReceiver ? <ReceiverView /> : <CustomerPhone />}</CSPProvider>
  </StrictMode>,
)
