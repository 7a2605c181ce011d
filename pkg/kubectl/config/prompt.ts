import type { Environment } from "../environment/environment.ts"

/**
 * Asks for user name and password where a server of HTTPS is used without any credentials. Source: client-go
 * tools/clientcmd/auth_loaders.go.
 * @throws Error when there is no answer
 */
export async function promptForCredentials({
  stdin,
  stdout,
}: Environment): Promise<{ username: string; password: string }> {
  const input = stdin[Symbol.asyncIterator]()
  await stdout.write("Please enter Username: ")
  const username = await readLine(input)
  if (username === undefined) throw new Error("EOF")
  await stdout.write("Please enter Password: ")
  if (!stdin.isTerminal) throw new Error("error reading input for Password")
  stdin.setRaw(true)
  try {
    return { username: username.trim(), password: (await readLine(input)) ?? "" }
  } finally {
    stdin.setRaw(false)
  }
}

async function readLine(input: AsyncIterator<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ""
  for (;;) {
    const { done, value } = await input.next()
    if (done === true) return text === "" ? undefined : text
    text += decoder.decode(value, { stream: true })
    const end = text.search(/[\r\n]/)
    if (end !== -1) return text.slice(0, end)
  }
}
