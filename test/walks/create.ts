/** One create over TLS, by an API server on the disk. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { cm, CONFIGMAPS, json, startHttpServer } from "../../components/apiserver/serving/http-server.fixtures.ts"
import { beginWalk, endWalk } from "./record.ts"

const dataDir = mkdtempSync(join(tmpdir(), "k3ts-walk-"))
const { call, stop } = await startHttpServer({ dataDir })
await call("GET", CONFIGMAPS)
beginWalk()
const { code, text } = await call("POST", CONFIGMAPS, json(cm("walker")))
if (code !== 201) throw new Error(text)
endWalk()
await stop()
rmSync(dataDir, { recursive: true })
process.exit(0)
