import { copyFile } from "node:fs/promises"
import { join } from "node:path"
import { makePackage } from "../package/package.ts"
import { releaseDate, type Maker } from "./release.ts"

/** Makes the archive of the npm package, for `npm install` and for a registry. */
export const makeNpmPackage: Maker = async (release) => {
  const { root, version, commit, scratch, output } = release
  const folder = join(scratch, "npm")
  const archive = await makePackage(root, folder, { version, commit, treeState: "clean", date: releaseDate(release) })
  await copyFile(join(folder, archive), join(output, archive))
  return [archive]
}
