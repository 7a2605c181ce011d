/**
 * The guestbook of agnhost, for containers. ROLE says what it is: the `primary` keeps the entries and tells its
 * replicas of them, a `replica` gives what it was told, the `frontend` asks both by their names. The two first listen
 * at port 6379, the last at 80.
 */
import { hostname, networkInterfaces } from "node:os"

const role = process.env["ROLE"]
const entries = new Map<string, string>()
const replicas = new Set<string>()
const PRIMARY = "http://agnhost-primary:6379"
const REPLICA = "http://agnhost-replica:6379"
const ask = async (url: string) => (await fetch(url)).text()
const json = (data: object) => new Response(JSON.stringify(data), { headers: { "content-type": "application/json" } })

async function answer(request: Request): Promise<Response> {
  const url = new URL(request.url)
  const parameter = (name: string) => url.searchParams.get(name) ?? ""
  console.log(`${request.method} ${url.pathname}${url.search}`)
  switch (url.pathname) {
    case "/register":
      replicas.add(parameter("host"))
      return json(Object.fromEntries(entries))
    case "/set":
      entries.set(parameter("key"), parameter("value"))
      await Promise.all([...replicas].map((host) => ask(`http://${host}:6379/set${url.search}`)))
      return json({ data: "" })
    case "/get":
      return json({ data: entries.get(parameter("key")) ?? "" })
    case "/guestbook": {
      const isSet = parameter("cmd") === "set"
      return new Response(await ask(`${isSet ? `${PRIMARY}/set` : `${REPLICA}/get`}${url.search}`))
    }
    default:
      return new Response(hostname())
  }
}

if (role === "replica") {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((of) => of?.family === "IPv4" && !of.internal)?.address
  for (let known = false; !known;) {
    known = await ask(`${PRIMARY}/register?host=${address}`).then(
      (text) => {
        for (const [key, value] of Object.entries(JSON.parse(text) as Record<string, string>)) entries.set(key, value)
        return true
      },
      () => Bun.sleep(500).then(() => false),
    )
  }
}
Bun.serve({ port: role === "frontend" ? 80 : 6379, fetch: answer })
process.on("SIGTERM", () => process.exit(0))
