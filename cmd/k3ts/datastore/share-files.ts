import { join } from "node:path"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { withSharedCell } from "../../../components/apiserver/store/shared-cell.ts"
import { shareFiles, SHARED_FILES_KEY } from "../../../components/supervisor/shared-files/shared-files.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { loggerOf } from "../logger.ts"
import type { ServerFlags } from "../config/server-flags.ts"
import { joinTokensOf } from "../token/flags.ts"

/** Makes the authorities and keys of this server those of the cluster in the store. @throws as shareFiles */
export const shareServerFiles = (flags: ServerFlags, datastore: DatastoreConfig): Promise<void> =>
  withSharedCell(datastore, SHARED_FILES_KEY, realClock, (cell) =>
    shareFiles({
      dir: join(flags["data-dir"], "server"),
      cell,
      now: () => realClock.now(),
      random: systemRandom,
      log: loggerOf(flags),
      ...joinTokensOf(flags),
    }),
  )
