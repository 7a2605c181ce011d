import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Certificates } from "../../../components/ingress/certificates.ts"
import { startProxy } from "../../../components/ingress/proxy/proxy.fixtures.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Benchmark } from "../figure.ts"
import { bareTls } from "../limits.ts"
import { load, type Load } from "../load.ts"

const BODY_BYTES = 1024
const CONNECTIONS = 32
const SECONDS = 5
const PROXY = "INGRESS_BENCH_PROXY"

/**
 * Requests through the ingress proxy over TLS, and through nginx with one worker and the same connections kept to the
 * same backend. The backend, the proxies and wrk share the machine.
 */
export const ingress: Benchmark = {
  name: "ingress",
  needs: () => (Bun.which("wrk") === null ? "needs wrk: hack/setup.sh --bench" : undefined),
  async *run() {
    using backend = backendServer()
    const bare = await bareTls(BODY_BYTES, CONNECTIONS)
    const [own, cpu] = await throughProxy(backend.port)
    yield {
      name: "requests through the ingress over TLS, 32 connections",
      unit: "/s",
      value: own.perSecond,
      goal: Math.min(20_000, bare / 2),
      better: "more",
      limit: { what: "a bare TLS server without a backend", value: bare },
    }
    yield { name: "their 99th percentile", unit: "ms", value: own.p99ms, better: "less" }
    yield { name: "processor time of the proxy for 1,000 of them", unit: "ms", value: cpu, better: "less" }
    if (Bun.which("nginx", { PATH: `${process.env["PATH"]}:/usr/sbin` }) === null) return
    const nginx = await throughNginx(backend.port)
    yield { name: "the same through nginx with one worker", unit: "/s", value: nginx.perSecond, better: "more" }
    yield { name: "their 99th percentile", unit: "ms", value: nginx.p99ms, better: "less" }
  },
}

function backendServer() {
  const body = "x".repeat(BODY_BYTES)
  const child = Bun.spawn(
    [
      process.execPath,
      "-e",
      `const s = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("${body}") }); console.log(s.port); ` +
        "await new Promise(() => {})",
    ],
    { stdout: "pipe" },
  )
  return {
    port: firstLine(child.stdout).then(Number),
    [Symbol.dispose]: () => child.kill(),
  }
}

/** What wrk measures, and milliseconds of processor time for 1,000 requests. */
async function throughProxy(backend: Promise<number>): Promise<readonly [Load, number]> {
  const child = Bun.spawn([process.execPath, import.meta.path], {
    stdout: "pipe",
    env: { ...process.env, [PROXY]: String(await backend) },
  })
  try {
    const port = Number(await firstLine(child.stdout))
    const asked = await load({ url: `https://127.0.0.1:${port}/`, connections: CONNECTIONS, seconds: SECONDS })
    child.kill()
    await child.exited
    const { user, system } = child.resourceUsage()!.cpuTime
    // wrk asks for 4 seconds before it measures.
    const requests = asked.perSecond * (SECONDS + 4)
    return [asked, Number(user + system) / 1000 / (requests / 1000)]
  } finally {
    child.kill()
  }
}

async function throughNginx(backend: Promise<number>): Promise<Load> {
  const dir = mkdtempSync(join(tmpdir(), "k3ts-nginx-"))
  const port = await freePort()
  const { certPem, keyPem } = new Certificates(realClock).unsigned.pair
  writeFileSync(join(dir, "cert.pem"), certPem)
  writeFileSync(join(dir, "key.pem"), keyPem)
  writeFileSync(
    join(dir, "nginx.conf"),
    `worker_processes 1; daemon off; pid ${dir}/pid; error_log stderr crit;
     events { worker_connections 1024; }
     http {
       access_log off; client_body_temp_path ${dir}; proxy_temp_path ${dir}; fastcgi_temp_path ${dir};
       uwsgi_temp_path ${dir}; scgi_temp_path ${dir}; keepalive_requests 1000000000;
       upstream web { server 127.0.0.1:${await backend}; keepalive 64; keepalive_requests 1000000000; }
       server {
         listen 127.0.0.1:${port} ssl; ssl_certificate ${dir}/cert.pem; ssl_certificate_key ${dir}/key.pem;
         location / {
           proxy_pass http://web; proxy_http_version 1.1; proxy_set_header Connection "";
           proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
           proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host;
         }
       }
     }`,
  )
  const nginx = Bun.which("nginx", { PATH: `${process.env["PATH"]}:/usr/sbin` })!
  execFileSync(nginx, ["-t", "-q", "-c", join(dir, "nginx.conf")], { stdio: "inherit" })
  const child = Bun.spawn([nginx, "-c", join(dir, "nginx.conf")], { stdout: "ignore", stderr: "ignore" })
  try {
    await listening(port)
    return await load({ url: `https://127.0.0.1:${port}/`, connections: CONNECTIONS, seconds: SECONDS })
  } finally {
    child.kill()
    await child.exited
    rmSync(dir, { recursive: true, force: true })
  }
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(() => undefined)
    if (socket !== undefined) return void socket.end()
    await Bun.sleep(20)
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const { value } = await stream.getReader().read()
  return new TextDecoder().decode(value).trim()
}

const backend = process.env[PROXY]
if (import.meta.main && backend !== undefined) {
  const proxy = await startProxy({ endpoints: [Number(backend)], forgets: true })
  console.log(proxy.tlsPort)
}
