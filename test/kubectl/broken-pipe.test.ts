/** A reader that goes before kubectl has printed all: `kubectl … | head -1`. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { run } from "../harness/kubectl.ts"
import { EXECUTABLE, startServer, type TestServer } from "../harness/server.ts"

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server[Symbol.asyncDispose]())

test.each([
  ["delete", "delete configmap a b c"],
  ["label", "label configmap a b c --overwrite x=1"],
  ["get", "get configmaps -o name"],
  ["get --watch", "get configmaps --watch"],
  ["describe", "describe configmaps"],
])("ends %s at once and without a message, as SIGPIPE does", async (_name, command) => {
  // given objects, and a reader that goes before the first line
  const kubectl = `'${EXECUTABLE}' kubectl --kubeconfig '${server.kubeconfig}'`
  for (const name of ["a", "b", "c"])
    await server.send("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name } })

  // when
  const { out, err } = await run("bash", ["-c", `${kubectl} ${command} | (exec 0<&-); echo \${PIPESTATUS[0]}`])

  // then
  expect([out, err]).toEqual(["141\n", ""])
})
