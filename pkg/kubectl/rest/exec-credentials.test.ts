import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../clock/virtual.ts"
import type { RestConfig } from "../config/rest-config.ts"
import type { Environment } from "../environment/environment.ts"
import type { ProgramOptions } from "../environment/programs.ts"
import { execCredentials } from "./exec-credentials.ts"

const V1 = "client.authentication.k8s.io/v1"
const config: RestConfig = { server: new URL("https://a:6443"), tls: {}, disableCompression: false }
const exec = { command: "login", apiVersion: V1, interactiveMode: "Never" }

/** A program that answers each call with the next text, and what it was called with. */
function program(...answers: readonly (string | number)[]) {
  const calls: ProgramOptions[] = []
  const clock = new VirtualClock(0)
  const environment = {
    clock,
    variables: { PATH: "/bin" },
    stdin: { isTerminal: false },
    programs: {
      run(options: ProgramOptions) {
        const answer = answers[calls.length] ?? ""
        calls.push(options)
        return Promise.resolve({
          code: typeof answer === "number" ? answer : 0,
          stdout: String(answer),
          stderr: "",
        })
      },
    },
  } as unknown as Environment
  return { environment, calls, clock }
}

const token = (text: string, status: object = {}) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: V1, status: { token: text, ...status } })

describe("execCredentials", () => {
  test("asks the program once, and again when the credentials have expired", async () => {
    // given a program whose token is valid for a minute
    const { environment, calls, clock } = program(
      token("a", { expirationTimestamp: "1970-01-01T00:01:00Z" }),
      token("b"),
    )
    const credentials = execCredentials(config, { config: exec, cluster: {} }, environment)
    // then
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer a" })
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer a" })
    await clock.advance(60_000)
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer b" })
    expect(calls).toHaveLength(2)
    expect(JSON.parse(calls[0]!.variables!["KUBERNETES_EXEC_INFO"]!)).toEqual({
      kind: "ExecCredential",
      apiVersion: V1,
      spec: { interactive: false },
    })
  })

  test.each([
    ["Always", false, undefined, "exec plugin cannot support interactive mode: standard input is not a terminal"],
    [
      "Always",
      true,
      "used by x",
      "exec plugin cannot support interactive mode: standard input is unavailable: used by x",
    ],
    ["Always", true, undefined, true],
    ["IfAvailable", true, "used by x", false],
    ["IfAvailable", true, undefined, true],
    ["IfAvailable", false, undefined, false],
    ["Never", true, undefined, false],
  ])(
    "asks the user by %s, on a terminal: %p, that is %p: %p",
    async (interactiveMode, isTerminal, stdinUse, outcome) => {
      const { environment, calls } = program(token("a"))
      const credentials = execCredentials(
        config,
        { config: { ...exec, interactiveMode }, cluster: {} },
        { ...environment, stdin: { ...environment.stdin, isTerminal } },
        { stdinUse },
      )
      const answer = await credentials.headers().catch((err: Error) => err.message)
      if (typeof outcome === "string") expect([answer, calls]).toEqual([`getting credentials: ${outcome}`, []])
      else
        expect([calls[0]!.stdin, JSON.parse(calls[0]!.variables!["KUBERNETES_EXEC_INFO"]!)]).toMatchObject([
          outcome ? "inherit" : "ignore",
          { spec: { interactive: outcome } },
        ])
    },
  )

  test("takes an answer that does not say its kind", async () => {
    const { environment } = program(JSON.stringify({ apiVersion: V1, status: { token: "a" } }))
    const credentials = execCredentials(config, { config: exec, cluster: {} }, environment)
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer a" })
  })

  test.each<{ answer: string | number; message: string }>([
    {
      answer: JSON.stringify({ status: { token: "a" } }),
      message: `getting credentials: exec plugin is configured to use API version ${V1}, plugin returned version client.authentication.k8s.io/__internal`,
    },
    { answer: 3, message: "getting credentials: exec: executable login failed with exit code 3" },
    { answer: "junk", message: "getting credentials: decoding stdout: couldn't get version/kind; json parse error" },
    {
      answer: JSON.stringify({ kind: "ExecCredential", apiVersion: V1 }),
      message: "getting credentials: exec plugin didn't return a status field",
    },
    {
      answer: token("").replaceAll("/v1", "/v1beta1"),
      message: `exec plugin is configured to use API version ${V1}, plugin returned version ${V1}beta1`,
    },
    { answer: token("", { clientKeyData: "k" }), message: "exec plugin returned only certificate or key, not both" },
  ])("an answer $answer is an error: $message", ({ answer, message }) => {
    const credentials = execCredentials(config, { config: exec, cluster: {} }, program(answer).environment)
    expect(credentials.headers()).rejects.toThrow(message)
  })

  test("a token of the command line is used without asking the program", async () => {
    const { environment, calls } = program()
    const credentials = execCredentials({ ...config, token: "t" }, { config: exec, cluster: {} }, environment)
    expect(await credentials.headers()).toEqual({ Authorization: "Bearer t" })
    expect(await credentials.certificate()).toEqual({})
    expect(calls).toHaveLength(0)
  })
})
