import { openUpload } from '../media/uploads/provide-upload.ts'
import type { ManageDeps } from '../templates/manage/manage-templates.ts'
import type { Deps } from './deps.ts'
import { senderFinder } from './send-deps.ts'

export const createManageDeps = (deps: Deps): ManageDeps => ({
  ...deps,
  findSender: senderFinder(deps),
  openUpload: (companyId, mediaId) => openUpload(deps, companyId, mediaId),
})
