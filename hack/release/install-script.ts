import { chmod, copyFile } from "node:fs/promises"
import { join } from "node:path"
import type { Maker } from "./release.ts"

const NAME = "install.sh"

/** Lays install.sh beside the executables, where it looks for them. */
export const makeInstallScript: Maker = async ({ output }) => {
  await copyFile(join(import.meta.dirname, NAME), join(output, NAME))
  await chmod(join(output, NAME), 0o755)
  return [NAME]
}
