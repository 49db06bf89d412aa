// Imported first: some libraries look at this once, as they are loaded.
process.env.NODE_ENV = 'production';
