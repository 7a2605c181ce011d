/**
 * Starts another API server with the compared configuration, over an empty etcd, and records its answers for
 * `configured.test.ts`: `bun test/conformance/configured/record.ts PATH-OF-KUBE-APISERVER http://127.0.0.1:2379`.
 */
import { spawn } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { Agent } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { send } from "../../harness/server.ts"
import { answersOf } from "./answers.ts"
import { writeFiles } from "./files.ts"
import { writeFixture } from "./fixture.ts"
import { startPrograms } from "./programs.ts"

const [program = "", etcd = ""] = process.argv.slice(2)
using programs = await startPrograms()
const folder = mkdtempSync(join(tmpdir(), "configured-"))
const flags = writeFiles(folder, programs)
const key = join(folder, "accounts.pem")
writeFileSync(
  key,
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" }),
)
const port = await freePort()
const log = openSync(join(folder, "server.log"), "w")
const server = spawn(
  program,
  [
    `--etcd-servers=${etcd}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, "certs")}`,
    "--allow-privileged",
    "--service-cluster-ip-range=10.43.0.0/16",
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    ...flags,
  ],
  { stdio: ["ignore", log, log] },
)
const ended = new Promise<void>((resolve) => server.once("exit", () => resolve()))
try {
  const agent = new Agent()
  while ((await send(agent, port, "GET", "/readyz", {}).catch(() => undefined))?.status !== 200) {
    if (server.exitCode !== null) throw new Error(`the server has ended: see ${folder}/server.log`)
    await Bun.sleep(200)
  }
  const answers = await answersOf(port, programs, folder)
  writeFixture(answers)
  console.log(`${answers.size} answers kept`)
  if (process.env.KEEP) console.log(folder)
  else rmSync(folder, { recursive: true })
} finally {
  server.kill()
  await ended
}
