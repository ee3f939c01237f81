// zdx acp-agent, driven by the official TypeScript SDK. The model is a small HTTP server in here; zdx is the real binary.
// Usage: node acp_agent.mjs PATH_OF_ZDX FOLDER_WITH_NODE_MODULES

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [zdx, modules] = process.argv.slice(2, 4).map((given) => path.resolve(given));
const require = createRequire(pathToFileURL(path.join(modules, "package.json")));
const acp = await import(pathToFileURL(path.join(path.dirname(require.resolve("@agentclientprotocol/sdk")), "acp.js")).href);

// Answers with what it is given, one an answer: a text, { name, input } for a call, { finish } to end for that reason; a text that ends
// with … never ends.
class Model {
  constructor(answers) {
    this.answers = [...answers];
    this.requests = [];
    this.server = http.createServer((request, response) => {
      if (request.method === "GET") {
        response.setHeader("content-type", "application/json");
        return response.end(JSON.stringify({ data: [{ id: "m", max_model_len: 200000 }] }));
      }
      let body = "";
      request.on("data", (piece) => (body += piece));
      request.on("end", () => this.answer(JSON.parse(body), response));
    });
  }

  answer(request, response) {
    this.requests.push(request);
    const next = this.answers.shift() ?? "done";
    const isText = typeof next === "string" || next.finish;
    const delta =
      isText
        ? { content: next.finish ? "well" : next }
        : { tool_calls: [{ index: 0, id: `c${this.requests.length}`, type: "function", function: { name: next.name, arguments: JSON.stringify(next.input) } }] };
    response.setHeader("content-type", "text/event-stream");
    const say = (choice) => response.write(`data: ${JSON.stringify({ id: "x", choices: [{ index: 0, ...choice }] })}\n\n`);
    say({ delta: { role: "assistant", ...delta } });
    if (typeof next === "string" && next.endsWith("…")) return;
    say({ delta: {}, finish_reason: next.finish ?? (isText ? "stop" : "tool_calls") });
    response.end("data: [DONE]\n\n");
  }

  async start() {
    await new Promise((listening) => this.server.listen(0, "127.0.0.1", listening));
    return `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

// A home, a folder, and what is running in them.
class Place {
  constructor() {
    this.dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "zdx-interop-")));
    this.root = path.join(this.dir, "root");
    this.home = path.join(this.dir, "home");
    fs.mkdirSync(this.root);
    fs.mkdirSync(this.home);
    this.updates = [];
    this.asked = [];
    this.choice = "allow_once";
    this.buffers = new Map();
  }

  said(session) {
    const chunks = this.updates.filter((note) => note.sessionId === session && note.update.sessionUpdate === "agent_message_chunk");
    return chunks.map((note) => note.update.content.text).join("");
  }

  kinds(session) {
    return this.updates.filter((note) => note.sessionId === session).map((note) => note.update.sessionUpdate);
  }

  async with(answers, work, capabilities = {}, args = []) {
    const model = new Model(answers);
    const url = await model.start();
    fs.writeFileSync(path.join(this.home, "config.toml"), `model = "t/m"\n[providers.t]\nwire = "openai-chat"\nbase_url = "${url}"\n`);
    const env = { HOME: this.home, ZDX_HOME: this.home, PATH: process.env.PATH };
    const child = spawn(zdx, ["acp-agent", ...args], { cwd: this.root, env, stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise((end) => child.on("exit", end));
    const app = acp
      .client({ name: "interop" })
      .onNotification(acp.methods.client.session.update, ({ params }) => void this.updates.push(params))
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
        this.asked.push(params);
        const option = params.options.find((one) => one.kind === this.choice);
        return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
      })
      .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
        if (!this.buffers.has(params.path)) throw acp.RequestError.resourceNotFound(params.path);
        return { content: this.buffers.get(params.path) };
      })
      .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
        this.buffers.set(params.path, params.content);
        fs.writeFileSync(params.path, params.content);
        return {};
      });
    const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    await app.connectWith(stream, async (ctx) => {
      const hello = await ctx.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: capabilities });
      assert.equal(hello.protocolVersion, 1);
      const prompt = (sessionId, text) => ctx.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
      const open = async () => (await ctx.request(acp.methods.agent.session.new, { cwd: this.root, mcpServers: [] })).sessionId;
      await work({ ctx, model, prompt, open });
    });
    child.stdin.end();
    assert.equal(await ended, 0);
    model.stop();
  }
}

async function until(what, holds) {
  for (const start = Date.now(); !holds(); ) {
    if (Date.now() - start > 20000) throw new Error(`not in time: ${what}`);
    await new Promise((later) => setTimeout(later, 10));
  }
}

const checks = {
  async "a turn with text and a tool call"() {
    const place = new Place();
    fs.writeFileSync(path.join(place.root, "a.txt"), "hello\n");
    await place.with([{ name: "read", input: { path: "a.txt" } }, "It says hello."], async ({ prompt, open }) => {
      const session = await open();
      assert.equal((await prompt(session, "what does a.txt say?")).stopReason, "end_turn");
      assert.equal(place.said(session), "It says hello.");
      const kinds = place.kinds(session);
      for (const kind of ["tool_call", "tool_call_update", "usage_update", "available_commands_update"]) assert(kinds.includes(kind), kind);
    });
  },
  async "a permission answered each way"() {
    const place = new Place();
    const touch = (name) => ({ name: "bash", input: { command: `touch ${name}` } });
    await place.with([touch("yes"), "ok", touch("no"), "ok", touch("never")], async ({ prompt, open }) => {
      const session = await open();
      assert.equal((await prompt(session, "go")).stopReason, "end_turn");
      place.choice = "reject_once";
      assert.equal((await prompt(session, "go")).stopReason, "end_turn");
      place.choice = "none";
      assert.equal((await prompt(session, "go")).stopReason, "cancelled");
    });
    assert.equal(place.asked.length, 3);
    assert.deepEqual(fs.readdirSync(place.root), ["yes"]);
  },
  async "a permission for good is asked for once"() {
    const place = new Place();
    place.choice = "allow_always";
    const touch = { name: "bash", input: { command: "touch it" } };
    const work = async ({ prompt, open }) => assert.equal((await prompt(await open(), "go")).stopReason, "end_turn");
    await place.with([touch, touch, "ok"], work);
    assert.equal(place.asked.length, 1);
    assert.deepEqual(fs.readdirSync(place.root), ["it"]);
  },
  async "every end has its reason"() {
    const place = new Place();
    const answers = [{ finish: "length" }, { finish: "content_filter" }, { name: "list", input: {} }];
    const work = async ({ prompt, open }) => {
      const session = await open();
      for (const reason of ["max_tokens", "refusal", "max_turn_requests"]) assert.equal((await prompt(session, "go")).stopReason, reason);
    };
    await place.with(answers, work, {}, ["--max-steps", "1"]);
  },
  async "a file through the client"() {
    const place = new Place();
    const file = path.join(place.root, "a.txt");
    fs.writeFileSync(file, "on disk\n");
    place.buffers.set(file, "unsaved\n");
    const edit = { name: "edit", input: { path: "a.txt", old: "unsaved", new: "edited" } };
    const work = async ({ prompt, open }) => assert.equal((await prompt(await open(), "go")).stopReason, "end_turn");
    await place.with([edit, "ok"], work, { fs: { readTextFile: true, writeTextFile: true } });
    assert.equal(place.buffers.get(file), "edited\n");
    assert.equal(fs.readFileSync(file, "utf8"), "edited\n");
  },
  async "a cancel in the middle"() {
    const place = new Place();
    await place.with(["half…", "again"], async ({ ctx, prompt, open }) => {
      const session = await open();
      const turn = prompt(session, "go");
      await until("half an answer", () => place.said(session) === "half…");
      await ctx.notify(acp.methods.agent.session.cancel, { sessionId: session });
      assert.equal((await turn).stopReason, "cancelled");
      assert.equal((await prompt(session, "go on")).stopReason, "end_turn");
    });
  },
  async "load, resume, list, close, modes and options"() {
    const place = new Place();
    let session;
    await place.with(["first"], async ({ ctx, prompt, open }) => {
      session = await open();
      await prompt(session, "hello");
      await ctx.request(acp.methods.agent.session.setMode, { sessionId: session, modeId: "plan" });
      const set = { sessionId: session, configId: "approval", value: "paranoid" };
      const { configOptions } = await ctx.request(acp.methods.agent.session.setConfigOption, set);
      assert.equal(configOptions.find((option) => option.id === "approval").currentValue, "paranoid");
      assert.equal(configOptions.find((option) => option.category === "mode").currentValue, "plan");
    });
    place.updates = [];
    const named = { sessionId: session, cwd: place.root, mcpServers: [] };
    await place.with([], async ({ ctx }) => {
      const { sessions } = await ctx.request(acp.methods.agent.session.list, { cwd: place.root });
      assert.deepEqual(sessions.map((one) => one.sessionId), [session]);
      const loaded = await ctx.request(acp.methods.agent.session.load, named);
      assert.equal(loaded.modes.currentModeId, "plan");
      assert.equal(place.said(session), "first");
      assert(place.kinds(session).includes("user_message_chunk"));
    });
    place.updates = [];
    await place.with(["second"], async ({ ctx, prompt }) => {
      await ctx.request(acp.methods.agent.session.resume, named);
      await prompt(session, "and?");
      assert.equal(place.said(session), "second");
      await ctx.request(acp.methods.agent.session.close, { sessionId: session });
      await assert.rejects(prompt(session, "still there?"), { code: -32002 });
    });
  },
  async "two sessions at once"() {
    const place = new Place();
    await place.with(["slow…", "quick"], async ({ ctx, prompt, open }) => {
      const [one, other] = [await open(), await open()];
      const slow = prompt(one, "a");
      await until("the slow one begins", () => place.said(one) === "slow…");
      assert.equal((await prompt(other, "b")).stopReason, "end_turn");
      assert.equal(place.said(other), "quick");
      await ctx.notify(acp.methods.agent.session.cancel, { sessionId: one });
      assert.equal((await slow).stopReason, "cancelled");
    });
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok      acp_agent (TypeScript): ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL    acp_agent (TypeScript): ${name}\n${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
