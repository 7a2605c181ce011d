import { cgroupfs } from "./cgroupfs.ts"
import { cgroups } from "./cgroups.ts"
import type { Piece } from "./piece.ts"
import { purge } from "./purge.ts"
import { powerCut, reboot } from "./reboot.ts"
import { settings } from "./settings.ts"
import { upgrade } from "./upgrade.ts"
import { watchdog } from "./watchdog.ts"

/** By the names that `npm run test:vm -- NAME…` takes. */
export const PIECES: Readonly<Record<string, Piece>> = {
  cgroupfs,
  upgrade,
  watchdog,
  settings,
  purge,
  reboot,
  "power-cut": powerCut,
  cgroups,
}
