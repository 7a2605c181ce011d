import { copyFile } from "node:fs/promises"
import { join } from "node:path"
import { makePackage } from "../package/package.ts"
import type { Maker } from "./release.ts"

/** Makes the archive of the npm package, for `npm install` and for a registry. */
export const makeNpmPackage: Maker = async ({ root, version, commit, epoch, scratch, output }) => {
  const folder = join(scratch, "npm")
  const date = `${new Date(epoch * 1000).toISOString().slice(0, -5)}Z`
  const archive = await makePackage(root, folder, { version, commit, treeState: "clean", date })
  await copyFile(join(folder, archive), join(output, archive))
  return [archive]
}
