import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { localPathClass } from "../../pkg/api/storage/v1/local-path.ts"
import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { silent } from "../../pkg/log/log.ts"
import { Folders } from "./folders.ts"
import { localPath } from "./local-path.ts"
import { removeUnfinished, Unfinished } from "./unfinished.ts"

const UID = "0f3c1b7e"
const VOLUME = `pvc-${UID}`
const FOLDER = `${VOLUME}_shop_db`

describe("a process that ends while it makes a volume", () => {
  let root: string
  let unfinished: Unfinished
  let folders: Folders
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "k3ts-unfinished-"))
    unfinished = new Unfinished(root)
    folders = new Folders(root)
  })
  afterEach(() => rmSync(root, { recursive: true }))

  const quota = { lacking: async () => "none", limit: async () => undefined, lift: async () => undefined }
  const claim = {
    metadata: { namespace: "shop", name: "db", uid: UID },
    spec: { resources: { requests: { storage: "1Mi" } } },
  } as unknown as PersistentVolumeClaim
  const make = (reclaimPolicy: "Delete" | "Retain" = "Delete") => {
    const maker = localPath("here", folders, quota, unfinished)
    const storageClass = { ...localPathClass, reclaimPolicy }
    return { maker, made: maker.make({ name: VOLUME, claim, storageClass }) }
  }
  /** Starts again where the API has these objects. */
  const startAgain = (there: { readonly volume?: boolean; readonly claimUid?: string }) => {
    const get = async ({ kind }: Resource) => {
      if (kind === "PersistentVolume" && there.volume === true) return {}
      if (kind === "PersistentVolumeClaim" && there.claimUid !== undefined) return { metadata: { uid: there.claimUid } }
      throw new ApiError("NotFound", "it is not there")
    }
    return removeUnfinished(root, { unfinished, folders, client: { get } as never, log: silent })
  }
  const isThere = () => existsSync(join(root, FOLDER))

  test("before its folder leaves nothing when the claim is gone", async () => {
    await unfinished.begin(FOLDER)
    await startAgain({})
    expect([isThere(), await unfinished.all()]).toEqual([false, []])
  })

  test.each([
    { title: "gone", there: {} },
    { title: "another of this name", there: { claimUid: "other" } },
  ])("before the API has the volume leaves nothing when the claim is $title", async ({ there }) => {
    await make().made
    writeFileSync(join(root, FOLDER, "file"), "x")
    await startAgain(there)
    expect([isThere(), await unfinished.all()]).toEqual([false, []])
  })

  test("before the API has the volume leaves the folder to the next process when the claim is there", async () => {
    await make().made
    await startAgain({ claimUid: UID })
    expect([isThere(), await unfinished.all()]).toEqual([true, [FOLDER]])
  })

  test("when the API has the volume leaves the folder, and no note", async () => {
    await make().made
    await startAgain({ volume: true })
    expect([isThere(), await unfinished.all()]).toEqual([true, []])
    await startAgain({})
    expect(isThere()).toBe(true)
  })

  test("after the volume is finished leaves the folder, whatever is deleted then", async () => {
    const { maker, made } = make()
    await made
    await maker.finished!({ name: VOLUME, claim })
    await startAgain({})
    expect(isThere()).toBe(true)
  })

  test("leaves the folder of a class that retains volumes", async () => {
    await make("Retain").made
    await startAgain({})
    expect(isThere()).toBe(true)
  })

  test("leaves no note of volumes that it has finished, however many it made at once", async () => {
    const names = Array.from({ length: 200 }, (_, i) => `pvc-${i}_shop_db`)
    await Promise.all(
      names.map(async (name) => {
        await unfinished.begin(name)
        await unfinished.end(name)
      }),
    )
    expect(readdirSync(root)).toEqual([])
  })

  test("leaves all other folders, and a note that leads elsewhere removes nothing", async () => {
    await folders.create("pvc-other_shop_web")
    await unfinished.begin("pvc-other_shop_web")
    writeFileSync(join(root, ".unfinished", "x"), "")
    await startAgain({ volume: true })
    await startAgain({})
    expect(existsSync(join(root, "pvc-other_shop_web"))).toBe(true)
  })
})
